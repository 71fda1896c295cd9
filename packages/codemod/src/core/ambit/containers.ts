import type { Rewriter } from '../rewriter/rewriter.js';

/** The container of the application. */
export const newContainer = (rewriter: Rewriter): string =>
  `new ${rewriter.use('Container')}({ tags: [${rewriter.style.string('application')}] })`;

/** What makes the scope of a request, after the name of its parent and a dot. */
export const createRequestScope = (rewriter: Rewriter): string =>
  `createScope({ tags: [${rewriter.style.string('request')}] })`;
