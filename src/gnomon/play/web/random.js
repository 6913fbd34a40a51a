// A small seeded generator (sfc32), so that a page with a seed can be repeated.

export class Random {
  constructor(seed = 0) {
    [this.a, this.b, this.c, this.count] = [seed | 0, 0x9e3779b9 | 0, 0x243f6a88 | 0, 1];
    for (let i = 0; i < 15; i++) this.uniform();
  }

  // A number from 0 to 1, 1 excluded.
  uniform() {
    const sum = (((this.a + this.b) | 0) + this.count) | 0;
    this.count = (this.count + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 4294967296;
  }

  // A whole number from 0 to n - 1.
  below(n) {
    return Math.floor(this.uniform() * n);
  }

  choose(values) {
    return values[this.below(values.length)];
  }

  // 1 with this probability, else 0.
  chance(probability) {
    return this.uniform() < probability ? 1 : 0;
  }

  // A standard normal number (Box and Muller).
  normal() {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  // A place drawn with these probabilities, which sum to about 1.
  sample(probabilities) {
    let left = this.uniform();
    for (let i = 0; i < probabilities.length - 1; i++) {
      left -= probabilities[i];
      if (left < 0) return i;
    }
    return probabilities.length - 1;
  }
}
