import { runPromtool } from '@recourse/test-support/prometheus.ts';

export type LintVerdict =
  | { readonly kind: 'clean'; readonly metrics: number; readonly series: number }
  /** What promtool said, a line for each complaint. */
  | { readonly kind: 'refused'; readonly complaints: string };

/** What `promtool check metrics` says of an exposition in Prometheus's text format. One without metrics is refused. */
export const lintExposition = async (text: string): Promise<LintVerdict> => {
  const { status, output } = await runPromtool(['check', 'metrics'], text);
  const complaints = output.trim();
  if (status !== 0 || complaints !== '')
    return { kind: 'refused', complaints: complaints === '' ? `promtool ended with exit code ${status}` : complaints };
  const lines = text.split('\n').filter((line) => line !== '');
  const metrics = lines.filter((line) => line.startsWith('# TYPE ')).length;
  // promtool finds nothing wrong with nothing.
  if (metrics === 0) return { kind: 'refused', complaints: 'There is no metric in it.' };
  return { kind: 'clean', metrics, series: lines.filter((line) => !line.startsWith('#')).length };
};
