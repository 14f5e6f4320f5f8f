import { type Media, type Part, toBlocks } from './media.ts';

/** The kinds of images that models look at. */
export type ImageType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export type Image = { readonly mimeType: ImageType; readonly data: string; readonly bytes: number };

export type ImageWriter<Block> = {
  readonly text: (text: string) => Block;
  readonly image: (image: Image) => Block;
};

// In base64. A provider refuses the whole request over an image that is not what it is said to be, or no image at all.
const SIGNATURES = [
  ['image/png', /^iVBORw0KGgo/],
  ['image/jpeg', /^\/9j\//],
  ['image/gif', /^R0lGODdh|^R0lGODlh/],
  // RIFF, a length, WEBP.
  ['image/webp', /^UklGR.{6}XRUJQ/],
] as const;

// Anthropic takes no larger image, and no provider fewer of them in one request.
const MAX_BASE64_LENGTH = 5_242_880;
const MAX_IMAGES = 20;

/**
 * An answer's texts, and those of its media that are images of these types by their first bytes, in their order; at most
 * 20 images. null where there is no such image.
 */
export const toImageBlocks = <Block>(
  parts: readonly Part[],
  types: readonly ImageType[],
  write: ImageWriter<Block>,
): Block[] | null => {
  let written = 0;
  return toBlocks(parts, {
    text: write.text,
    media: (media) => {
      const image = toImage(media);
      if (image === null || !types.includes(image.mimeType) || written >= MAX_IMAGES) return null;
      written += 1;
      return write.image(image);
    },
  });
};

const toImage = ({ kind, data, bytes }: Media): Image | null => {
  if (kind === 'audio' || data === null || data.length > MAX_BASE64_LENGTH) return null;
  const found = SIGNATURES.find(([, signature]) => signature.test(data));
  return found === undefined ? null : { mimeType: found[0], data, bytes };
};
