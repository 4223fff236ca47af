"""PPO as it measured best on the development cells: of I2L, of the GAIL family and, in part, of the oracle."""

from functools import partial

from onlooker.learning.ppo import PPOOptions

steady_ppo = partial(
    PPOOptions,
    learning_rate=1e-3,
    anneal=True,
    minibatches=8,
    target_kl=0.03,
    normalize_values=True,
    discount=0.995,
    log_std_end=-2.0,
)
