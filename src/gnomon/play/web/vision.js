// Vision: the residual network that turns a retinal image into features, as gnomon.agent.vision.
//
// Images are [height, width, maps], within a border of zeros one pixel wide, so that a row of a 3 x 3 patch is one
// stretch of memory: a convolution is three products for each pixel.

class Image {
  constructor(space, height, width, maps) {
    Object.assign(this, { height, width, maps });
    this.values = space.array((height + 2) * (width + 2) * maps);
    this.start = this.values.byteOffset / 4;
  }

  // Place of a pixel's first map among the values; row and column -1 are the border.
  at(row, column) {
    return ((row + 1) * (this.width + 2) + column + 1) * this.maps;
  }

  // Visit the pixels within the border: each(place of the first map).
  forEachPixel(each) {
    for (let row = 0; row < this.height; row++) {
      for (let column = 0; column < this.width; column++) each(this.at(row, column), row, column);
    }
  }
}

// A 3 x 3 convolution that keeps the image's size.
class Convolution {
  constructor(space, weights, name) {
    this.space = space;
    this.bias = weights[`${name}.bias`];
    const weight = weights[`${name}.weight`]; // [3 * 3 * maps in, maps]
    this.weight = space.array(weight.length, weight);
    this.maps = this.bias.length;
  }

  run(input, output) {
    const { space, bias, maps } = this;
    const rows = 3 * input.maps;
    const first = this.weight.byteOffset / 4;
    output.forEachPixel((place, row, column) => {
      output.values.set(bias, place);
      for (let down = 0; down < 3; down++) {
        const patch = input.start + input.at(row + down - 1, column - 1);
        space.product(patch, first + down * rows * maps, output.start + place, rows, maps);
      }
    });
  }
}

// Max-pool 3 x 3 with stride 2; an even side is padded at its end, an odd one at both.
function halve(input, output) {
  const { maps } = input;
  const [padRow, padColumn] = [input.height % 2, input.width % 2];
  output.forEachPixel((place, row, column) => {
    for (let map = 0; map < maps; map++) {
      let largest = -Infinity;
      for (let i = Math.max(0, 2 * row - padRow); i < Math.min(input.height, 2 * row - padRow + 3); i++) {
        for (let j = Math.max(0, 2 * column - padColumn); j < Math.min(input.width, 2 * column - padColumn + 3); j++) {
          largest = Math.max(largest, input.values[input.at(i, j) + map]);
        }
      }
      output.values[place + map] = largest;
    }
  });
}

function relu(input, output) {
  for (let i = 0; i < input.values.length; i++) output.values[i] = Math.max(0, input.values[i]);
}

export class Vision {
  constructor(space, weights, height, width) {
    this.space = space;
    this.image = new Image(space, height, width, 3);
    this.blocks = [];
    let [rows, columns] = [height, width];
    for (let block = 0; `blocks.${block}.widen.bias` in weights; block++) {
      const part = (name) => new Convolution(space, weights, `blocks.${block}.${name}`);
      const widen = part("widen");
      const residuals = [0, 1].map((n) => ({ inner: part(`residuals.${n}.inner`), outer: part(`residuals.${n}.outer`) }));
      const wide = new Image(space, rows, columns, widen.maps);
      [rows, columns] = [Math.ceil(rows / 2), Math.ceil(columns / 2)];
      const [kept, first, second] = [0, 1, 2].map(() => new Image(space, rows, columns, widen.maps));
      this.blocks.push({ widen, residuals, wide, kept, first, second });
    }
    this.bias = weights["embed.bias"];
    this.embed = space.array(weights["embed.weight"].length, weights["embed.weight"]);
    this.flat = space.array(this.embed.length / this.bias.length);
    this.features = space.array(this.bias.length);
    if ("basis" in weights) {
      this.mean = weights.mean;
      this.basis = space.array(weights.basis.length, weights.basis);
      this.whitened = space.array(this.bias.length);
    }
  }

  // RGBA pixels -> features; the same array each time.
  see(pixels) {
    let pixel = 0;
    this.image.forEachPixel((place) => {
      for (let channel = 0; channel < 3; channel++) this.image.values[place + channel] = pixels[pixel + channel] / 255;
      pixel += 4;
    });
    let input = this.image;
    for (const { widen, residuals, wide, kept, first, second } of this.blocks) {
      widen.run(input, wide);
      halve(wide, kept);
      for (const { inner, outer } of residuals) {
        relu(kept, first);
        inner.run(first, second);
        relu(second, first);
        outer.run(first, second);
        kept.forEachPixel((place) => {
          for (let map = 0; map < kept.maps; map++) kept.values[place + map] += second.values[place + map];
        });
      }
      input = kept;
    }
    let at = 0;
    input.forEachPixel((place) => {
      for (let map = 0; map < input.maps; map++) this.flat[at++] = Math.max(0, input.values[place + map]);
    });
    this.features.set(this.bias);
    this.space.multiply(this.flat, this.embed, this.features);
    for (let i = 0; i < this.features.length; i++) this.features[i] = Math.max(0, this.features[i]);
    return this.basis ? this.whiten() : this.features;
  }

  whiten() {
    for (let i = 0; i < this.features.length; i++) this.features[i] -= this.mean[i];
    this.whitened.fill(0);
    this.space.multiply(this.features, this.basis, this.whitened);
    return this.whitened;
  }
}
