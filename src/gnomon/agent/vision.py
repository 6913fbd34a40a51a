"""Vision: the residual network that turns a retinal image into features, and their whitening."""

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from gnomon.agent.products import multiply
from gnomon.agent.weights import conv3x3, linear

MAPS = (16, 32, 32)  # feature maps of the three blocks
NO_VARIANCE = 1e-12  # below which features are all the same


class Vision(nn.Module):
    """Three residual blocks, then one linear layer: the deep IMPALA network (Espeholt et al. 2018).

    If it is `whitened`, features f leave it as P' (f - mean), with the mean and P that `whiten` has set; until then as
    they are. What an untrained network makes of all observations has much in common: the mean of the features is longer
    than any s.d. around it, and where the gaze is shows in directions with a twentieth of the largest s.d. Adam's steps
    are alike in size for every weight, so a controller that reads such features hardly learns to tell places apart.
    """

    mean: Tensor  # [F]
    basis: Tensor  # P: [F, F]

    def __init__(
        self, retina: tuple[int, int], features: int = 256, *, generator: Generator, whitened: bool = False
    ) -> None:
        """retina is (height, width) in pixels; features the length of the embedding."""
        super().__init__()
        self.retina, self.whitened = retina, whitened
        self.products: torch.dtype | None = None
        """Precision of convolutions and matrix products; None: that of the weights."""
        if whitened:
            self.register_buffer("mean", torch.zeros(features))
            self.register_buffer("basis", torch.eye(features))
        height, width = retina
        blocks, maps_in = [], 3
        for maps in MAPS:
            blocks.append(Block(maps_in, maps, generator))
            height, width, maps_in = -(-height // 2), -(-width // 2), maps
        self.blocks = nn.Sequential(*blocks)
        self.embed = linear(height * width * maps_in, features, generator)

    def forward(self, pixels: Tensor) -> Tensor:
        """uint8 pixels [N, H, W, 3] -> features [N, F]."""
        dtype = self.embed.weight.dtype
        # Permuted, [N, 3, H, W] keeps its memory order: channels_last, the faster layout for convolutions.
        images = pixels.permute(0, 3, 1, 2).to(dtype) / 255
        with torch.autocast(images.device.type, self.products, enabled=self.products not in (None, dtype)):
            maps = self.blocks(images).relu_()
            features = self.embed(maps.permute(0, 2, 3, 1).flatten(1))  # [N, H/8, W/8, 32] -> [N, H/8 * W/8 * 32]
        features = features.to(dtype).relu_()
        return multiply(features - self.mean, self.basis) if self.whitened else features

    @torch.no_grad()
    def whiten(self, features: Tensor, smallest: float) -> None:
        """Whiten from now on by these features [N, F], which have not been whitened.

        Directions with a smaller s.d. than the share `smallest` of the largest stay below unit variance.
        """
        mean = features.mean(0)
        centred = (features - mean).double()
        variance, directions = torch.linalg.eigh(centred.T @ centred / len(features))
        largest = variance.max() if variance.max() > NO_VARIANCE else 1.0
        self.mean.copy_(mean)
        self.basis.copy_(directions / (variance.clamp(min=0) + smallest**2 * largest).sqrt())


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
