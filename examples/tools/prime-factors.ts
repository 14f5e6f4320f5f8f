// A tool that computes without ever giving way. It runs in a tool host, where calls of its own file wait for it and no others; once
// it has held up others it runs alone. A number with two large prime factors keeps it busy for years, and its time limit ends that process, not the service.
import { defineTool, z } from 'recourse-server';

export const primeFactors = defineTool({
  name: 'prime_factors',
  description: 'Splits a whole number of up to 40 digits into its prime factors. Large factors may take too long.',
  effects: 'read',
  timeoutMs: 2_000,
  // One call uses up a core: more of them at once would only make each one slower.
  concurrency: 2,
  // As a text: JSON numbers lose digits beyond 2^53.
  input: z.object({
    number: z
      .string()
      .regex(/^[1-9]\d{0,39}$/, 'must be a whole number of 1 to 40 digits, written as a text')
      .meta({ examples: ['1001'] }),
  }),
  output: z.object({ number: z.string(), factors: z.array(z.string()), prime: z.boolean() }),
  run: ({ number }) => {
    const factors = factorise(BigInt(number)).map(String);
    return { number, factors, prime: factors.length === 1 && number !== '1' };
  },
});

/** The prime factors, smallest first, by trial division: about sqrt(second largest factor) steps. */
const factorise = (whole: bigint): readonly bigint[] => {
  const factors: bigint[] = [];
  let rest = whole;
  for (let divisor = 2n; divisor * divisor <= rest; divisor += divisor === 2n ? 1n : 2n) {
    while (rest % divisor === 0n) {
      factors.push(divisor);
      rest /= divisor;
    }
  }
  if (rest > 1n || factors.length === 0) factors.push(rest);
  return factors;
};
