"""The sections of the page, a file each: words, tables and figures of one topic. `gnomon.report.contents` orders them.

Every word about a result is made from its numbers.
"""
