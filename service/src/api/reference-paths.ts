/** Where the document is served, and the page that shows it, with all that it loads. */
export const REFERENCE_PATHS = [
  '/openapi.json',
  '/docs',
  '/docs/',
  '/docs/start.js',
  '/docs/swagger-ui-bundle.js',
  '/docs/swagger-ui.css',
  '/docs/favicon.png',
] as const;

export type ReferencePath = (typeof REFERENCE_PATHS)[number];
