import { styleText } from 'node:util';

export type Paint = (style: 'bold' | 'dim' | 'green' | 'red' | 'yellow', text: string) => string;

/** Colours a text, or leaves it as it is. */
export const createPaint = (colors: 'on' | 'off'): Paint =>
  colors === 'on' ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;
