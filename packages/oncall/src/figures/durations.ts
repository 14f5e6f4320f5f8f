/** Numbers of a histogram: four of each octave of microseconds, up to 36 minutes. */
export const BUCKETS = 120;

const MOST_MICROSECONDS = 2 ** 31 - 1;

/** The bucket of a duration in milliseconds, by integers alone: it is asked for each call. */
export const bucketOf = (durationMs: number): number => {
  const microseconds = durationMs * 1000;
  if (microseconds >= MOST_MICROSECONDS) return BUCKETS - 1;
  const whole = microseconds | 0;
  const octave = 31 - Math.clz32(whole);
  return octave < 2 ? whole : (octave << 2) + ((whole >> (octave - 2)) & 3) - 4;
};

/** The middle of a bucket in milliseconds: at most an eighth off what was counted in it. */
export const middleOf = (bucket: number): number => {
  if (bucket < 4) return (bucket + 0.5) / 1000;
  const [octave, part] = [(bucket + 4) >> 2, bucket & 3];
  return ((4.5 + part) * 2 ** (octave - 2)) / 1000;
};

/** Of what is counted in a histogram, in milliseconds; null: nothing is. */
export const quantileOf = (histogram: ArrayLike<number>, share: number): number | null => {
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) total += histogram[bucket] ?? 0;
  if (total === 0) return null;
  let left = Math.ceil(total * share);
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    left -= histogram[bucket] ?? 0;
    if (left <= 0) return middleOf(bucket);
  }
  return null;
};
