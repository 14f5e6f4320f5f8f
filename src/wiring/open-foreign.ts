import { Registry } from 'prom-client';
import * as z from 'zod';
import type { Config } from '../config/settings/config.ts';
import type { Additions, Extension, ExtensionHost, ExtensionLog } from '../extensions/extension.ts';
import type { RouteHost } from '../routes/route-host.ts';
import { describeCauses } from '../telemetry/describe-error.ts';

/** An extension of EXTENSIONS that is open, and its metrics as Prometheus text; rejects where one of them cannot be collected. */
type Foreign = { readonly additions: Additions | null; readonly collect: () => Promise<string> };

export type ForeignParts = { readonly host: ExtensionHost; readonly ownMetrics: Registry };

const isFunction = (value: unknown): boolean => typeof value === 'function';
const isTool = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'prepare' in value && isFunction(value.prepare);

// Their author may write JavaScript, which checks nothing.
const Added = z
  .strictObject({
    tools: z.array(z.custom(isTool, 'must be made by defineTool')).optional(),
    unavailable: z.array(z.unknown()).optional(),
    addRoutes: z.custom(isFunction, 'must be a function').optional(),
    links: z.record(z.string(), z.string().startsWith('/')).optional(),
    consolePage: z.strictObject({ title: z.string().min(1), script: z.string() }).optional(),
    close: z.custom(isFunction, 'must be a function').optional(),
  })
  .nullable();

const OPEN_MS = 10_000;

/** Opens an extension that EXTENSIONS names; `additions` null: its settings switch it off. Every error says which extension is to blame. */
export const openForeign = async (
  extension: Extension,
  config: Config,
  { host, ownMetrics }: ForeignParts,
): Promise<Foreign> => {
  const { name } = extension;
  const metrics = new Registry();
  // It also keeps the process up, which would end without a word where nothing else does.
  const late = setInterval(() => host.log.warn({ extension: name }, 'extension is not open yet'), OPEN_MS);
  try {
    const additions = await extension.open(config, { ...host, metrics });
    const [issue] = Added.safeParse(additions).error?.issues ?? [];
    if (issue !== undefined)
      throw new Error(`what it adds is wrong: ${issue.path.join('.')} ${issue.message}`.replace('  ', ' '));
    const taken = metrics.getMetricsAsArray().find((metric) => ownMetrics.getSingleMetric(metric.name) !== undefined);
    if (taken !== undefined) throw new Error(`its metric ${taken.name} has the name of another.`);
    return {
      additions: additions === null ? null : toNamed(name, additions, host.log),
      collect: () => metrics.metrics(),
    };
  } catch (error) {
    throw toBlame(`'${name}' cannot open`, error);
  } finally {
    clearInterval(late);
  }
};

/** The catalogue says where a tool comes from, and what fails later says whose it is; the others close all the same. */
const toNamed = (name: string, additions: Additions, log: ExtensionLog): Additions => {
  const { tools = [], addRoutes } = additions;
  const source = `extension:${name}`;
  const close = async (): Promise<void> => {
    try {
      await additions.close?.();
    } catch (error) {
      log.error({ extension: name, causes: describeCauses(error) }, 'extension failed to close');
    }
  };
  const named = { ...additions, close, tools: tools.map((tool) => ({ ...tool, source })) };
  if (addRoutes === undefined) return named;
  const addNamed = (app: Parameters<typeof addRoutes>[0], host: RouteHost): void => {
    try {
      addRoutes(app, host);
    } catch (error) {
      throw toBlame(`'${name}' cannot add its routes`, error);
    }
  };
  return { ...named, addRoutes: addNamed };
};

const toBlame = (problem: string, error: unknown): Error => {
  const reason = error instanceof Error ? error.message || error.name : String(error);
  return new Error(`EXTENSIONS: ${problem}: ${reason}`, { cause: error });
};
