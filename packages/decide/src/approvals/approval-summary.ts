import { readPointer, valueAt } from 'recourse-server/tools/argument-issues';

/** The longest summary, in characters. */
const MAX_SUMMARY = 500;
const MAX_VALUE = 100;

const PLACES = /\{(\/[^{}]*)\}/g;

/** For people, what would run. `shown`: the arguments as people may see them. */
export const summarise = (template: string | null, tool: string, shown: unknown): string => {
  const text =
    template === null
      ? `${tool} ${JSON.stringify(shown)}`
      : template.replace(PLACES, (_place, pointer: string) => showValue(valueAt(shown, readPointer(pointer, shown))));
  return cut(text, MAX_SUMMARY);
};

const showValue = (value: unknown): string =>
  cut(typeof value === 'string' ? value : value === undefined ? '(none)' : JSON.stringify(value), MAX_VALUE);

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
