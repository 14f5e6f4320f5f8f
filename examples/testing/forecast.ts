import { defineTool, RetryableToolError, z } from 'recourse-server';

/** Degrees at noon tomorrow; null where the city is not known. */
type AskForecast = (city: string, signal: AbortSignal) => Promise<number | null>;

export const createForecast = (ask: AskForecast) =>
  defineTool({
    name: 'forecast',
    description: 'Gives the temperature of a city at noon tomorrow, in degrees Celsius.',
    effects: 'read',
    retries: 1,
    timeoutMs: 5_000,
    input: z.object({ city: z.string().min(1) }),
    output: z.object({ city: z.string(), degrees: z.number() }),
    run: async ({ city }, { signal, log }) => {
      const degrees = await ask(city, signal);
      log.info('asked for a forecast', { city });
      if (degrees === null)
        throw new RetryableToolError(`There is no city '${city}'.`, { hint: 'Give its English name.' });
      return { city, degrees };
    },
  });

export const forecast = createForecast(async (city, signal) => {
  const answer = await fetch(`http://forecast.internal/${encodeURIComponent(city)}`, { signal });
  return answer.status === 404 ? null : z.number().parse(await answer.json());
});
