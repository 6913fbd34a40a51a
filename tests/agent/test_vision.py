"""Vision: the original's pooling, layout and first weights."""

import pytest
import torch
import torch.nn.functional as F

from gnomon.agent.vision import Vision, halve


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(4)


@pytest.mark.parametrize("size", [(8, 8), (7, 7), (6, 9), (9, 6), (2, 1), (1, 2), (3, 5)])
def test_halve_is_a_same_padded_max_pool(size: tuple[int, int]) -> None:
    images = torch.randn(2, 3, *size, generator=generator())
    before_after = []
    for side in reversed(size):  # F.pad wants the last axis first
        padding = max((-(-side // 2) - 1) * 2 + 3 - side, 0)  # TensorFlow's rule for SAME
        before_after += [padding // 2, padding - padding // 2]
    expected = F.max_pool2d(F.pad(images, before_after, value=-torch.inf), 3, stride=2)
    assert torch.equal(halve(images), expected)
    assert halve(images).shape[-2:] == (-(-size[0] // 2), -(-size[1] // 2))


@pytest.mark.parametrize("retina", [(32, 32), (24, 40), (17, 30)])
def test_any_retina_gives_one_row_of_features_per_image(retina: tuple[int, int]) -> None:
    vision = Vision(retina, features=20, generator=generator())
    features = vision(torch.randint(0, 256, (3, *retina, 3), dtype=torch.uint8, generator=generator()))
    assert features.shape == (3, 20)
    assert features.min() >= 0
    assert features.std(dim=0).max() > 0, "the images differ, so must the features"


def test_against_a_plain_reading_of_the_architecture() -> None:
    vision = Vision((9, 12), features=7, generator=generator()).double()
    w = dict(vision.named_parameters())
    with torch.no_grad():  # biases start at 0, where a missing one would not show
        for name, parameter in w.items():
            if name.endswith("bias"):
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator()))

    def conv(name: str, images: torch.Tensor) -> torch.Tensor:
        return F.conv2d(images, w[name + ".weight"], w[name + ".bias"], padding=1)

    pixels = torch.randint(0, 256, (2, 9, 12, 3), dtype=torch.uint8, generator=generator())
    images = torch.stack([pixels[..., c] for c in range(3)], dim=1).double() / 255
    for block in range(3):
        images = halve(conv(f"blocks.{block}.widen", images))
        for k in range(2):
            inner = conv(f"blocks.{block}.residuals.{k}.inner", F.relu(images))
            images = images + conv(f"blocks.{block}.residuals.{k}.outer", F.relu(inner))
    assert images.shape == (2, 32, 2, 2)
    flat = F.relu(images).permute(0, 2, 3, 1).reshape(2, -1)
    expected = F.relu(flat @ w["embed.weight"].T + w["embed.bias"])
    torch.testing.assert_close(vision(pixels), expected)
    assert [w[f"blocks.{k}.widen.weight"].shape[0] for k in range(3)] == [16, 32, 32]


def test_first_weights_are_truncated_normal_and_biases_zero() -> None:
    vision = Vision((32, 32), generator=generator())
    for name, parameter in vision.named_parameters():
        if name.endswith("bias"):
            assert parameter.count_nonzero() == 0
            continue
        fan_in = parameter[0].numel()
        assert parameter.abs().max() <= 2 * fan_in**-0.5
        # A normal cut at two s.d. keeps 0.8796 of its s.d.; 432 weights in the smallest layer.
        assert parameter.std().item() == pytest.approx(0.8796 * fan_in**-0.5, rel=0.08)


def test_layout_stays_channels_last() -> None:
    vision = Vision((16, 16), generator=generator())
    seen = []
    for block in vision.blocks:
        block.register_forward_hook(lambda module, inputs, output: seen.append(output))
    vision(torch.zeros(2, 16, 16, 3, dtype=torch.uint8))
    assert all(maps.is_contiguous(memory_format=torch.channels_last) for maps in seen)
    assert len(seen) == 3
