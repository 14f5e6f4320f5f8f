import { checkForm } from '../check-forms.ts';
import type { Part } from '../isolation/part.ts';
import { startLoad } from '../measure-load.ts';
import { type Lane, type LaneRuns, measureRounds } from '../measure-rounds.ts';
import { checkCodes, readServiceCounts } from '../service-counts.ts';
import { startPatientService } from '../sessions/patient-service.ts';
import { BATCH_SIZES, type BatchSize } from '../targets.ts';

/** What is compared to `native`, on one service. */
export const FORMAT_FORMS = [
  'native',
  'anthropic_named',
  'anthropic_detected',
  'chat_detected',
  'anthropic_and_results',
  'chat_and_results',
] as const;
export type FormatForm = (typeof FORMAT_FORMS)[number];

export type FormatSeries = LaneRuns<FormatForm> & { readonly calls: BatchSize };

/** Measures the same calls as the service's own envelope and as messages of models, in turn, on one service. */
export const measureFormats = async (part: Part): Promise<readonly FormatSeries[]> => {
  const measure = startLoad(part.surroundings);
  const service = await startPatientService(part.surroundings, null);
  const all: FormatSeries[] = [];
  for (const calls of BATCH_SIZES) {
    const before = await readServiceCounts(service.url);
    const lanes = FORMAT_FORMS.map(
      (name): Lane<FormatForm> => ({
        name,
        server: service,
        load: { kind: 'succeeding', form: name, calls },
        check: () => checkForm(service.url, name, calls),
      }),
    );
    for (const series of await measureRounds(lanes, part, measure)) all.push({ ...series, calls });
    checkCodes('ok', { before, after: await readServiceCounts(service.url) });
  }
  await service.process.end();
  return all;
};
