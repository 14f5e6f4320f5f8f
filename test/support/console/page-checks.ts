import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import * as z from 'zod';

const NAMED = 'button|link|textbox|searchbox|combobox|meter|dialog|navigation|group|checkbox|option';

/** Controls and areas that a screen reader would announce without a name. */
export const findUnnamed = async (page: Page): Promise<readonly string[]> => {
  const tree = await page.locator('body').ariaSnapshot();
  return tree.split('\n').filter((line) => new RegExp(`^\\s*- '?(${NAMED})(?! ")`).test(line));
};

/** The levels of the headings in their order. */
export const readHeadingLevels = async (page: Page): Promise<readonly number[]> => {
  const names = await page.locator('h1, h2, h3, h4, h5, h6').evaluateAll((all) => all.map(({ tagName }) => tagName));
  return names.map((name) => Number(name.slice(1)));
};

// WCAG 2.2: relative luminance and contrast ratio, of every element that has text of its own, against the nearest
// ground that is painted. A text: this program knows no DOM.
const FIND_WEAK = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const channel = (value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const groundOf = (element) => {
    for (let at = element; at !== null; at = at.parentElement) {
      const color = numbers(getComputedStyle(at).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return [255, 255, 255];
  };
  const hasText = (element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '') || 'value' in element;
  const ratio = (element) => {
    const [high, low] = [numbers(getComputedStyle(element).color), groundOf(element)].map(luminance).sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const seen = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() && hasText(element));
  return {
    checked: seen.length,
    weak: seen.filter((element) => ratio(element) < 4.5)
      .map((element) => element.tagName + '.' + element.className + ' ' + ratio(element).toFixed(2)),
  };
})()`;

const Contrast = z.object({ checked: z.number(), weak: z.array(z.string()) });

/** How many texts were looked at, and those whose contrast is below 4.5:1. */
export const readContrast = async (page: Page): Promise<z.infer<typeof Contrast>> =>
  Contrast.parse(await page.evaluate(FIND_WEAK));

/** By how many pixels the page is wider than the window. */
export const readOverflow = async (page: Page): Promise<number> =>
  z.number().parse(await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth'));

/** What axe-core finds fault with on the page as it stands: rule, and the elements. */
export const findAxeViolations = async (page: Page): Promise<readonly string[]> => {
  // Evaluated by the browser's debugger: the page itself lets no foreign script in.
  await page.evaluate(axe.source);
  const violations: unknown = await page.evaluate('axe.run().then(({ violations }) => violations)');
  return Violations.parse(violations).map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
};

const Violations = z.array(z.object({ id: z.string(), nodes: z.array(z.object({ html: z.string() })) }));

/** Nothing on the page is hard to read, without a name, out of order, or wider than the window. */
export const expectSound = async (page: Page, shownTexts: number): Promise<void> => {
  const { checked, weak } = await readContrast(page);
  expect(weak).toEqual([]);
  expect(checked).toBeGreaterThan(shownTexts);
  expect(await findUnnamed(page)).toEqual([]);
  const levels = await readHeadingLevels(page);
  expect(levels[0]).toBe(1);
  expect(levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1)).toEqual([]);
  expect(await readOverflow(page)).toBe(0);
  expect(await findAxeViolations(page)).toEqual([]);
};
