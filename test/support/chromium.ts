import { accessSync, constants, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { timeLimit } from './time-limit.ts';

// The names scripts/ensure-chromium.sh looks for, in its order.
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const SCREENSHOTS = join(import.meta.dirname, '../../node_modules/.cache/recourse/screenshots');
// A browser that starts beside a compiler on a small machine takes its time.
const START_MS = timeLimit(120_000);
const WAIT_MS = timeLimit(30_000);

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const findChromium = (): string => {
  const chosen = process.env['CHROMIUM_BIN'];
  if (chosen !== undefined && chosen !== '') return chosen;
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
  if (found === undefined)
    throw new Error('There is no chromium: run sh scripts/ensure-chromium.sh, or set CHROMIUM_BIN.');
  return found;
};

/** A real, headless Chromium. It ends with this process at the latest. */
export const launchChromium = (args: readonly string[] = []): Promise<Browser> =>
  chromium.launch({
    executablePath: findChromium(),
    // /dev/shm is small in containers.
    args: ['--disable-dev-shm-usage', '--disable-gpu', ...args],
    timeout: START_MS,
  });

// A text: this program knows no DOM.
const REPORT_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));`;

export type OpenedPage = {
  readonly page: Page;
  /** Everything a clean page never does: dialogs, errors, violations of the policy. */
  readonly complaints: readonly string[];
  readonly close: () => Promise<void>;
};

/** Opens an address in a context of its own, and writes down whatever goes wrong in it. */
export const openPage = async (
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', ...options });
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('pageerror', (error) => void complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // What Chromium says of every answer of 400 and above: tests that want those look at the page.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) complaints.push(`console: ${message.text()}`);
  });
  await page.addInitScript({ content: REPORT_VIOLATIONS });
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
};

/** Keeps a picture of the whole page under node_modules/.cache/recourse/screenshots. */
export const keepScreenshot = async (page: Page, name: string): Promise<void> => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
};
