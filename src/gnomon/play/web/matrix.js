// Vectors and matrices: reading packed tables, and one fast product.
//
// The product y += x W is most of a recurrent agent's work. It is a loop of 25 WebAssembly instructions with 4 x 4
// numbers at a time; where the browser has no such instructions the same loop runs in plain JavaScript.

export const BLOCK = 16; // columns that are summed at a time

// Unpack a table (see gnomon.play.packing): bytes of zlib -> Float32Array [rows * columns].
export async function unpack({ rows, columns, bytes: depth, low, step, data }) {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const values = new Float32Array(rows * columns);
  const plane = rows * columns; // lower bytes first
  for (let column = 0, at = 0; column < columns; column++) {
    let level = 0;
    for (let row = 0; row < rows; row++, at++) {
      let zigzag = 0;
      for (let byte = 0; byte < depth; byte++) zigzag |= planes[byte * plane + at] << (8 * byte);
      level += (zigzag >> 1) ^ -(zigzag & 1);
      values[row * columns + column] = low[column] + level * step[column];
    }
  }
  return values;
}

// The body of multiply(x, w, y, rows, stride): for each block of y, for each row of w. Addresses and stride in bytes.
const [X, W, Y, ROWS, STRIDE, PLACE, WEIGHT, LEFT, BLOCKS, SUM] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const number = (value) => [0x41, value]; // below 64
const plus = 0x6a, minus = 0x6b;
const load = (offset) => [0xfd, 0x00, 4, offset];
const store = (offset) => [0xfd, 0x0b, 4, offset];
const splat = [0xfd, 0x09, 2, 0]; // one float, four times
const times = [0xfd, 0xe6, 0x01], add = [0xfd, 0xe4, 0x01];
const loop = [0x03, 0x40], again = [0x0d, 0], end = 0x0b;
const quarters = [0, 1, 2, 3];

const BODY = [
  ...get(STRIDE), ...number(6), 0x76, ...set(BLOCKS), // stride / 64 bytes
  ...loop,
  ...quarters.flatMap((q) => [...get(Y), ...load(16 * q), ...set(SUM + q)]),
  ...get(X), ...set(PLACE), ...get(W), ...set(WEIGHT), ...get(ROWS), ...set(LEFT),
  ...loop,
  ...get(PLACE), ...splat, ...set(SUM + 4),
  ...quarters.flatMap((q) => [
    ...get(SUM + q), ...get(SUM + 4), ...get(WEIGHT), ...load(16 * q), ...times, ...add, ...set(SUM + q),
  ]),
  ...get(PLACE), ...number(4), plus, ...set(PLACE),
  ...get(WEIGHT), ...get(STRIDE), plus, ...set(WEIGHT),
  ...get(LEFT), ...number(1), minus, 0x22, LEFT, ...again,
  end,
  ...quarters.flatMap((q) => [...get(Y), ...get(SUM + q), ...store(16 * q)]),
  ...get(Y), 0x41, 0xc0, 0x00, plus, ...set(Y), // 64 bytes on
  ...get(W), 0x41, 0xc0, 0x00, plus, ...set(W),
  ...get(BLOCKS), ...number(1), minus, 0x22, BLOCKS, ...again,
  end,
  end,
];

const sized = (bytes) => (bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7]);
const withSize = (bytes) => [...sized(bytes), ...bytes];
const section = (id, bytes) => [id, ...withSize(bytes)];
const text = (word) => withSize([...word].map((letter) => letter.charCodeAt(0)));

const PROGRAM = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
  ...section(1, [1, 0x60, 5, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0]), // five whole numbers -> nothing
  ...section(2, [1, ...text("lab"), ...text("memory"), 2, 0, 1]),
  ...section(3, [1, 0]),
  ...section(7, [1, ...text("multiply"), 0, 0]),
  ...section(10, [1, ...withSize([2, 4, 0x7f, 5, 0x7b, ...BODY])]), // four whole numbers, five vectors
]);

// A place for an agent's numbers, on which products are fast.
export class Workspace {
  constructor(floats) {
    this.memory = new WebAssembly.Memory({ initial: Math.ceil((floats * 4) / 65536) + 1 });
    this.floats = new Float32Array(this.memory.buffer);
    this.used = 0;
    this.fast = WebAssembly.validate(PROGRAM);
    if (!this.fast) return;
    const module = new WebAssembly.Module(PROGRAM);
    this.kernel = new WebAssembly.Instance(module, { lab: { memory: this.memory } }).exports.multiply;
  }

  // A Float32Array of this length, filled with values if some are given.
  array(length, values = null) {
    const array = this.floats.subarray(this.used, this.used + length);
    if (array.length < length) throw new Error("the workspace is too small");
    this.used += Math.ceil(length / BLOCK) * BLOCK;
    if (values) array.set(values);
    return array;
  }

  // y += x W; x [rows], W [rows, columns], y [columns], all of this workspace.
  multiply(x, w, y) {
    this.product(x.byteOffset / 4, w.byteOffset / 4, y.byteOffset / 4, x.length, y.length);
  }

  // The same, with places given as numbers of floats.
  product(x, w, y, rows, columns) {
    if (this.fast && columns % BLOCK === 0) {
      this.kernel(x * 4, w * 4, y * 4, rows, columns * 4);
      return;
    }
    const { floats } = this;
    for (let row = 0; row < rows; row++) {
      const [factor, first] = [floats[x + row], w + row * columns];
      for (let column = 0; column < columns; column++) floats[y + column] += factor * floats[first + column];
    }
  }
}
