"""Keras models: dense ones and convolutions trained by `fit`, layers of one's own, saved and loaded."""

import os
import sys
import tempfile

os.environ["KERAS_BACKEND"] = "jax"

import keras
import numpy as np
from keras import layers, ops

keras.utils.set_random_seed(7)
rng = np.random.default_rng(0)
out = {}

# --- a dense network --------------------------------------------------------------------------------

x = rng.normal(size=(192, 6)).astype(np.float32)
y = (np.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]).astype(np.float32)
model = keras.Sequential(
    [
        layers.Input((6,)),
        layers.Dense(24, activation="gelu"),
        layers.LayerNormalization(),
        layers.Dense(24, activation="swish", kernel_regularizer="l2"),
        layers.Dense(1),
    ]
)
schedule = keras.optimizers.schedules.CosineDecay(1e-2, 40)
model.compile(optimizer=keras.optimizers.AdamW(schedule, clipnorm=1.0), loss="mse", metrics=["mae"])
history = model.fit(x, y, batch_size=32, epochs=5, verbose=0, validation_split=0.25, shuffle=False)
out["dense_losses"] = np.float32(history.history["loss"] + history.history["val_mae"])
out["dense_predictions"] = model.predict(x[:20], verbose=0)

# --- convolutions, and classes --------------------------------------------------------------------

labels = rng.integers(0, 3, 96)
images = rng.normal(size=(96, 12, 12, 2)).astype(np.float32)
images[..., 0] += labels[:, None, None]
model = keras.Sequential(
    [
        layers.Input((12, 12, 2)),
        layers.Conv2D(8, 3, padding="same", activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.SeparableConv2D(12, 3, strides=2, padding="same"),
        layers.Activation("elu"),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.25),
        layers.Dense(3),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(0.05, momentum=0.9),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(images, labels, batch_size=24, epochs=3, verbose=0)
out["cnn_losses"] = np.float32(history.history["loss"])
out["cnn_evaluation"] = np.float32(model.evaluate(images, labels, verbose=0))
out["cnn_logits"] = model.predict(images[:10], batch_size=4, verbose=0)

with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/model.keras")
    loaded = keras.models.load_model(f"{folder}/model.keras")
    model.save_weights(f"{folder}/model.weights.h5")
out["loaded_logits"] = loaded.predict(images[:10], verbose=0)
history = loaded.fit(
    images, labels, batch_size=24, epochs=1, verbose=0, shuffle=False
)  # goes on where it was
out["loaded_losses"] = np.float32(history.history["loss"])


# --- the functional interface, a layer and a step of one's own ----------------------------------------


@keras.saving.register_keras_serializable("tests")
class Mixing(layers.Layer):
    """Products of pairs of channels."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], shape[-1], self.units), name="kernel")
        self.count = self.add_weight(
            shape=(), initializer="zeros", dtype="float32", trainable=False, name="count"
        )

    def call(self, inputs, training=False):
        if training:
            self.count.assign_add(1.0)
        return ops.einsum("...i,...j,ijk->...k", inputs, inputs, self.kernel)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


tokens = keras.Input((None,), dtype="int32")
numbers = keras.Input((4,))
h = layers.Embedding(20, 8, mask_zero=True)(tokens)
h = layers.MultiHeadAttention(2, 4)(h, h) + h
h = layers.Bidirectional(layers.GRU(5))(h)
h = layers.Concatenate()([h, Mixing(6)(numbers)])
twice = keras.Model([tokens, numbers], [layers.Dense(1, name="a")(h), layers.Dense(2, name="b")(h)])
twice.compile(
    optimizer="rmsprop", loss={"a": "mse", "b": "huber"}, loss_weights={"a": 1.0, "b": 0.5}
)
inputs = [rng.integers(0, 20, (64, 7)).astype(np.int32), x[:64, :4]]
history = twice.fit(inputs, [y[:64], x[:64, 4:]], batch_size=16, epochs=3, verbose=0, shuffle=False)
out["functional_losses"] = np.float32(history.history["loss"])
out["functional_a"], out["functional_b"] = twice.predict(inputs, verbose=0)
out["count"] = np.float32(next(v for v in twice.variables if v.name == "count"))
with tempfile.TemporaryDirectory() as folder:
    twice.save(f"{folder}/twice.keras")
    loaded = keras.models.load_model(f"{folder}/twice.keras")
out["functional_loaded"] = loaded.predict(inputs, verbose=0)[1]
out["other_length"] = loaded.predict([inputs[0][:, :3], inputs[1]], verbose=0)[0]

# --- shapes that are worked out before there is data ------------------------------------------------


def extents(*shape, call):
    """The shape of a result for inputs of these extents, None being any; -1 stands for None."""
    result = call(keras.KerasTensor(shape))
    return [-1 if n is None else n for n in result.shape]


shapes = [
    extents(None, None, None, 3, call=layers.Conv2D(4, 3, strides=2, padding="same")),
    extents(None, 10, None, 3, call=layers.Conv2D(4, 3, dilation_rate=2)),
    extents(None, None, 7, 3, call=layers.Conv2DTranspose(4, 3, strides=2)),
    extents(None, None, 9, 3, call=layers.AveragePooling2D(3, padding="same")),
    extents(None, None, 8, 3, call=layers.UpSampling2D()),
    extents(None, None, 8, 3, call=layers.ZeroPadding2D(2)),
    extents(None, 6, call=layers.Reshape((3, 2))),
    extents(None, 5, 4, call=layers.LSTM(3, return_sequences=True)),
    extents(None, None, 4, call=lambda t: ops.mean(t, axis=1)),
    extents(None, None, 4, call=lambda t: t[:, -1]),
    extents(None, None, 4, call=lambda t: ops.concatenate([t, t[:, :2]], axis=2)),
    extents(None, 6, 4, call=lambda t: ops.split(t, 3, axis=1)[0]),
    extents(None, 4, call=lambda t: ops.matmul(t, ops.transpose(t))),
    extents(None, 4, call=lambda t: ops.one_hot(ops.argmax(t, axis=-1), 9)),
    extents(None, 4, call=lambda t: ops.pad(t, ((0, 0), (1, 2)))),
    extents(None, 4, call=lambda t: ops.cumsum(ops.softmax(t), axis=0)),
]
out["shapes"] = np.array([shape + [0] * (5 - len(shape)) for shape in shapes])

np.savez(sys.argv[1], **out)
