import { Counter, Gauge, type Registry } from 'prom-client';

/** How a place stands that tools come from: an MCP server, an API. */
export type UpstreamSample = {
  readonly name: string;
  readonly status: 'connecting' | 'up' | 'down' | 'held';
  readonly tools: number;
  readonly reconnects: number;
};

/** Where this service has tools from, as far as they come from elsewhere, and the file that says so. */
export const createUpstreamMetrics = (registry: Registry) => {
  let sample = (): readonly UpstreamSample[] => [];
  const perUpstream = (name: string, help: string, readValue: (upstream: UpstreamSample) => number): void => {
    const gauge: Gauge<'upstream'> = new Gauge({
      name,
      help,
      labelNames: ['upstream'],
      registers: [registry],
      collect: () => {
        // One that is no longer configured has no series.
        gauge.reset();
        for (const upstream of sample()) gauge.set({ upstream: upstream.name }, readValue(upstream));
      },
    });
  };
  perUpstream(
    'recourse_upstream_up',
    '1 while an MCP server is connected, or the document of an API is loaded.',
    (one) => (one.status === 'up' || one.status === 'held' ? 1 : 0),
  );
  perUpstream('recourse_upstream_tools', 'Tools that an upstream offers now.', ({ tools }) => tools);
  const reconnects: Counter<'upstream'> = new Counter({
    name: 'recourse_upstream_reconnects_total',
    help: 'Connections to an upstream that were made again after one was lost.',
    labelNames: ['upstream'],
    registers: [registry],
    collect: () => {
      reconnects.reset();
      for (const upstream of sample()) reconnects.inc({ upstream: upstream.name }, upstream.reconnects);
    },
  });
  let isConfigFileRefused = (): boolean => false;
  const configFileRefused: Gauge = new Gauge({
    name: 'recourse_config_file_refused',
    help: '1 while the configuration file as it stands is refused for a mistake in it, and the one from before holds.',
    registers: [registry],
    collect: () => configFileRefused.set(isConfigFileRefused() ? 1 : 0),
  });
  return {
    /** From now on the upstreams are asked at every scrape. */
    showUpstreamsBy: (samples: typeof sample): void => {
      sample = samples;
    },
    showConfigFileBy: (isRefused: () => boolean): void => {
      isConfigFileRefused = isRefused;
    },
  };
};
