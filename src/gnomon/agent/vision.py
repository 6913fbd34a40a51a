"""Vision: the residual network that turns a retinal image into features."""

import torch.nn.functional as F
from torch import Generator, Tensor, nn

from gnomon.agent.weights import conv3x3, linear

MAPS = (16, 32, 32)  # feature maps of the three blocks


class Vision(nn.Module):
    """Three residual blocks, then one linear layer: the deep IMPALA network (Espeholt et al. 2018)."""

    def __init__(self, retina: tuple[int, int], features: int = 256, *, generator: Generator) -> None:
        """retina is (height, width) in pixels; features the length of the embedding."""
        super().__init__()
        self.retina = retina
        height, width = retina
        blocks, maps_in = [], 3
        for maps in MAPS:
            blocks.append(Block(maps_in, maps, generator))
            height, width, maps_in = -(-height // 2), -(-width // 2), maps
        self.blocks = nn.Sequential(*blocks)
        self.embed = linear(height * width * maps_in, features, generator)

    def forward(self, pixels: Tensor) -> Tensor:
        """uint8 pixels [N, H, W, 3] -> features [N, F], none negative."""
        # Permuted, [N, 3, H, W] keeps its memory order: channels_last, the faster layout for convolutions.
        images = pixels.permute(0, 3, 1, 2).to(self.embed.weight.dtype) / 255
        maps = self.blocks(images).relu_()
        return self.embed(maps.permute(0, 2, 3, 1).flatten(1)).relu_()  # [N, H/8, W/8, 32] -> [N, H/8 * W/8 * 32]


class Block(nn.Module):
    """A convolution, a pool that halves the image, and two residual sub-blocks."""

    def __init__(self, maps_in: int, maps: int, generator: Generator) -> None:
        super().__init__()
        self.widen = conv3x3(maps_in, maps, generator)
        self.residuals = nn.Sequential(Residual(maps, generator), Residual(maps, generator))

    def forward(self, images: Tensor) -> Tensor:
        """[N, maps_in, H, W] -> [N, maps, ceil(H/2), ceil(W/2)]."""
        return self.residuals(halve(self.widen(images)))


class Residual(nn.Module):
    """relu, convolution, relu, convolution, added to the image that came in."""

    def __init__(self, maps: int, generator: Generator) -> None:
        super().__init__()
        self.inner = conv3x3(maps, maps, generator)
        self.outer = conv3x3(maps, maps, generator)

    def forward(self, images: Tensor) -> Tensor:
        """[N, maps, H, W] -> the same shape."""
        return images + self.outer(self.inner(images.relu()).relu_())


def halve(images: Tensor) -> Tensor:
    """Max-pool 3x3 with stride 2 and TensorFlow's SAME padding: [N, C, H, W] -> [N, C, ceil(H/2), ceil(W/2)].

    SAME pads one row after an even side and one on both ends of an odd side. Ceil mode pads after; torch's
    `padding=1` would shift even sides by a pixel.
    """
    height, width = images.shape[-2:]
    return F.max_pool2d(images, 3, stride=2, padding=(height % 2, width % 2), ceil_mode=True)
