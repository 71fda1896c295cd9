/** The paths of the OpenAPI document, of the page that shows it, and of the files that the page loads. */
export const REFERENCE_PATHS = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/reference.js',
  '/docs/colors.css',
  '/docs/reference.css',
  '/docs/operation.css',
  '/docs/try-it.css',
  '/docs/icon.svg',
] as const;

export type ReferencePath = (typeof REFERENCE_PATHS)[number];
