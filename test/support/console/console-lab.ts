import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Tool } from '#src/tools/tool.ts';
import { launchChromium, openPage } from '../chromium.ts';
import { type RunningService, startService } from '../start-service.ts';

/** A browser takes its time beside a compiler and another test file. */
export const SLOW_MS = timeLimit(120_000);

export type ConsoleLab = {
  readonly start: (environment?: Readonly<Record<string, string>>, tools?: readonly Tool[]) => Promise<RunningService>;
  /** Opens the console of a service, or another page of it. */
  readonly open: (url: string, fragment?: string, options?: BrowserContextOptions, path?: string) => Promise<Opened>;
  /** Opens the console of a service with these tools. */
  readonly show: (tools: readonly Tool[], fragment?: string, options?: BrowserContextOptions) => Promise<Opened>;
};

export type Opened = { readonly page: Page; readonly complaints: readonly string[] };

/** One browser for the tests of a file; services and pages end with the test that opened them. */
export const createConsoleLab = (args: readonly string[] = []): ConsoleLab => {
  let browser: Browser | null = null;
  beforeAll(async () => {
    browser = await launchChromium(args);
  }, SLOW_MS);
  afterAll(async () => {
    await browser?.close();
  }, SLOW_MS);
  const start: ConsoleLab['start'] = async (environment = {}, tools = []) => {
    // No call is shed because a browser and a compiler beside the service keep it waiting.
    const service = await startService({ MAX_EVENT_LOOP_LAG_MS: '600000', ...environment }, tools);
    onTestFinished(() => service.stop());
    return service;
  };
  const open: ConsoleLab['open'] = async (url, fragment = '', options = {}, path = '/console') => {
    if (browser === null) throw new Error('The browser has not started.');
    const { page, complaints, close } = await openPage(browser, `${url}${path}${fragment}`, options);
    onTestFinished(close);
    return { page, complaints };
  };
  return {
    start,
    open,
    show: async (tools, fragment, options) => open((await start({}, tools)).url, fragment, options),
  };
};

/** Sends the call that is filled in, and waits for what comes of it. */
export const send = async (page: Page): Promise<void> => {
  const answered = page.waitForResponse((response) => response.url().endsWith('/tool-calls'));
  await page.getByRole('button', { name: 'Send' }).click();
  await answered;
  await page.getByRole('heading', { name: 'Result' }).waitFor();
};

/** Fills in one of the options of a call, which are folded in at first. */
export const setOption = async (page: Page, label: string, value: string): Promise<void> => {
  const options = page.getByRole('button', { name: /Options/ });
  if ((await options.getAttribute('aria-expanded')) === 'false') await options.click();
  await page.getByLabel(label).fill(value);
};

/** Enters an API key. */
export const useKey = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Use key' }).click();
};

/** Sends calls with other headers than those of the page: the service answers as if they were the page's. */
export const replaceHeaders = (page: Page, headers: Readonly<Record<string, string>>): Promise<unknown> =>
  page.route('**/tool-calls', async (route) => {
    const response = await route.fetch({ headers: { ...route.request().headers(), ...headers } });
    await route.fulfill({ response });
  });
