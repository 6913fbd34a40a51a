// What trials say about whoever did them. Times in frames.

export const NEAR = 8; // frames: an answer this close is a good one, as the paper counts

const JUDGED = ["correct", "wrong", "early", "timeout"];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

export function answered(trials) {
  return trials.filter((trial) => trial.production_interval !== null);
}

// Trials within NEAR frames, of all that were judged, in [count, of].
export function within(trials) {
  const judged = trials.filter((trial) => JUDGED.includes(trial.outcome));
  const near = answered(judged).filter((trial) => Math.abs(trial.production_interval - trial.sample_interval) < NEAR);
  return [near.length, judged.length];
}

// Bias: the mean of t_p - t_s. Weber fraction: the s.d. of t_p around its mean at each t_s, as a share of that mean
// (root mean square over trials). Null where there are too few trials.
export function summary(samples, productions) {
  const n = samples.length;
  if (n < 3) return { n, bias: null, weber: null };
  const bias = mean(productions.map((t, i) => t - samples[i]));
  let [squares, freedom] = [0, 0];
  for (const interval of new Set(samples)) {
    const group = productions.filter((_, i) => samples[i] === interval);
    const middle = mean(group);
    if (group.length < 2 || middle <= 0) continue;
    squares += group.reduce((sum, t) => sum + (t / middle - 1) ** 2, 0);
    freedom += group.length - 1;
  }
  return { n, bias, weber: freedom > 0 ? Math.sqrt(squares / freedom) : null };
}

// Mean production of each sample interval: [[t_s, mean t_p], ...], ascending.
export function means(samples, productions) {
  return [...new Set(samples)]
    .sort((one, other) => one - other)
    .map((interval) => [interval, mean(productions.filter((_, i) => samples[i] === interval))]);
}

// Of swapped trials whose two intervals differ clearly: how many answers came nearer to the donor's, in [count, of].
export function followsDonor(trials, apart = 2 * NEAR) {
  const swapped = answered(trials).filter(
    (trial) => trial.donor !== null && Math.abs(trial.donor - trial.sample_interval) > apart);
  const moved = swapped.filter(
    (trial) => Math.abs(trial.production_interval - trial.donor) < Math.abs(trial.production_interval - trial.sample_interval));
  return [moved.length, swapped.length];
}

export function median(values) {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Where a person's steadiness lies among the agents', in one sentence. Within two standard errors of the person's
// Weber fraction the two are alike.
export function gist(weber, count, agents) {
  if (weber === null) return "";
  const margin = (2 * weber) / Math.sqrt(2 * count);
  const named = (words, keep) => {
    const names = agents.filter(([, other]) => keep(other)).map(([name]) => name);
    return names.length ? `${words} ${names.join(" and ")}` : "";
  };
  const parts = [
    named("steadier than", (other) => other > weber + margin),
    named("about as steady as", (other) => Math.abs(other - weber) <= margin),
    named("less steady than", (other) => other < weber - margin),
  ].filter(Boolean);
  return parts.length ? `You are ${parts.join(", ")}.` : "";
}
