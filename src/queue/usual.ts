/** What half of the samples come to at least, 10 % off at rest. One in ten that is a hundred times as large does not move it, as it does a mean. */
export class Usual {
  /** 0 before the first sample. */
  value = 0;
  samples = 0;

  learn(sample: number): void {
    this.samples += 1;
    if (this.samples === 1) {
      this.value = Math.max(LEAST, sample);
      return;
    }
    const step = this.samples > FIRST_SAMPLES ? STEP : FIRST_STEP;
    if (sample > this.value * step) this.value *= step;
    else if (sample * step < this.value && this.value > LEAST) this.value /= step;
  }
}

// Two decades in fifty samples.
const STEP = 1.1;
// The first call of a process takes a hundred times as long as those after it: a few more put that right.
const FIRST_SAMPLES = 10;
const FIRST_STEP = 2;
const LEAST = 0.01;
