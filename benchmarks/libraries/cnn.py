"""keras: an epoch of `fit` of a small convolutional network, 8 batches of 64 images."""

import os

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers

from benchmarks.libraries.timing import report

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x = rng.normal(size=(512, 28, 28, 1)).astype(np.float32)
y = rng.integers(0, 10, 512)
model = keras.Sequential(
    [
        layers.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dense(10),
    ]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer="adam", loss=loss, metrics=["accuracy"])


def call():
    history = model.fit(x, y, batch_size=64, epochs=1, shuffle=False, verbose=0)
    return np.float32(history.history["loss"])


report(call)
