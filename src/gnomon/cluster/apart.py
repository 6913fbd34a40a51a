"""Ray in a process of its own, which the learner outlives.

When its machine's part of Ray is lost, or the head node has been silent for a minute, Ray ends the process that uses
it, without a word. So a child process speaks to Ray, and the learner to the child, through a pipe. The few calls that a
run needs look like Ray's own.
"""

import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.connection import Connection
from types import SimpleNamespace
from typing import Any

from gnomon.cluster.pool import Pool
from gnomon.cluster.start import Resources, check_address, import_ray, joined

ANSWER_SECONDS = 60.0  # without an answer after which Ray counts as lost; none of the calls takes long
GOODBYE_SECONDS = 10.0  # for Ray to end by itself


class RayError(Exception):
    """What Ray complained of: mostly that a pool has died."""


class RayTaskError(RayError):
    """A mistake in the program of a pool."""


@dataclass(frozen=True)
class Name:
    """What a reference is called in the pipe."""

    number: int


class Reference:
    """Stands for an object or a pool of Ray, which are let go when nobody knows the reference any more."""

    def __init__(self, ray: "RayApart", number: int) -> None:
        self._ray, self.name = ray, Name(number)

    @property
    def unroll(self) -> Any:
        """A pool's method."""
        return SimpleNamespace(remote=lambda *given: self._ray.make("unroll", self, *given))

    def __del__(self) -> None:
        self._ray.released.append(self.name)


class RayApart:
    """The child process, with as much of Ray's face as `Pools` looks at."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, address: str | None, cpus: int) -> None:
        """Start it. ValueError if the cluster cannot be joined."""
        self.released: list[Name] = []
        self._numbers = count()
        processes = multiprocessing.get_context("spawn")
        self._pipe, theirs = processes.Pipe()
        self._process = processes.Process(target=serve, args=(theirs, address, cpus), daemon=True)
        self._process.start()
        theirs.close()
        try:
            self.resources: Resources
            self.resources, self.__version__ = self._answer(None)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave the cluster; all that was started there ends."""
        self._pipe.close()  # it notices, and goes
        self._process.join(GOODBYE_SECONDS)
        self._process.kill()
        self._process.join()

    # Ray's own calls.

    def remote(self, kind: type) -> Any:
        assert kind is Pool
        return SimpleNamespace(
            options=lambda **options: SimpleNamespace(remote=lambda *given: self.make("start", options, *given))
        )

    def put(self, value: Any) -> Reference:
        return self.make("put", value)

    def wait(
        self, references: Sequence[Reference], num_returns: int, timeout: float
    ) -> tuple[list[Reference], list[Reference]]:
        ready = set(self._call("wait", [each.name for each in references], num_returns, timeout))
        chosen = [each for each in references if each.name in ready]
        return chosen, [each for each in references if each not in chosen]

    def get(self, reference: Reference) -> Any:
        return self._call("get", reference)

    def kill(self, pool: Reference) -> None:
        self._call("kill", pool)

    # The pipe.

    def make(self, call: str, *arguments: Any) -> Reference:
        """Call for something that Ray keeps."""
        reference = Reference(self, next(self._numbers))
        self._call(call, reference, *arguments)
        return reference

    def _call(self, call: str, *arguments: Any) -> Any:
        released, self.released = self.released, []
        try:
            self._pipe.send((released, call, [a.name if isinstance(a, Reference) else a for a in arguments]))
        except OSError:
            raise self._lost() from None
        return self._answer(ANSWER_SECONDS)

    def _answer(self, seconds: float | None) -> Any:
        """What the process says; an error is raised. ConnectionError if it is gone, or silent for so long."""
        try:
            if not self._pipe.poll(seconds):
                raise ConnectionError(f"Ray has not answered for {seconds:.0f} s")
            answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise self._lost() from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _lost(self) -> ConnectionError:
        return ConnectionError("Ray has ended on this machine (its logs are in /tmp/ray/session_latest/logs)")


@contextmanager
def joined_apart(address: str | None, cpus: int) -> Iterator[RayApart]:
    """Be part of a cluster, as `joined` is, by way of another process."""
    ray = RayApart(check_address(address), cpus)
    try:
        yield ray
    finally:
        ray.close()


# In the process.


def serve(pipe: Connection, address: str | None, cpus: int) -> None:
    """Do what comes through the pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the learner, which may want a last unroll
    silence = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # Ray says a lot when it is lost; it is in its logs, too
        os.dup2(silence, stream)
    try:
        with joined(address, cpus) as resources:
            ray = import_ray()
            pipe.send((resources, ray.__version__))
            with suppress(EOFError, OSError):
                answer_calls(pipe, ray)
    except ValueError as error:
        pipe.send(error)


def answer_calls(pipe: Connection, ray: Any) -> None:
    pool, kept = ray.remote(Pool), {}

    def real(given: Any) -> Any:
        return kept[given] if isinstance(given, Name) else given

    calls = {
        "put": lambda name, value: kept.update({name: ray.put(value)}),
        "start": lambda name, options, *given: kept.update({name: pool.options(**options).remote(*given)}),
        "unroll": lambda name, member, *given: kept.update({name: real(member).unroll.remote(*map(real, given))}),
        "wait": lambda names, number, seconds: wait(ray, {kept[name]: name for name in names}, number, seconds),
        "get": lambda name: ray.get(kept[name]),
        "kill": lambda name: ray.kill(kept[name]),
    }
    while True:
        released, call, arguments = pipe.recv()
        for name in released:
            kept.pop(name, None)
        try:
            answer = calls[call](*arguments)
        except ray.exceptions.RayTaskError as error:
            answer = RayTaskError(str(error))
        except ray.exceptions.RayError as error:
            answer = RayError(str(error))
        pipe.send(answer)


def wait(ray: Any, names: dict[Any, Name], number: int, seconds: float) -> list[Name]:
    ready, _ = ray.wait(list(names), num_returns=number, timeout=seconds)
    return [names[reference] for reference in ready]
