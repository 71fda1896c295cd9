import { fetchHandlerOn } from '../fetch-handler.mjs';

export const contestant = fetchHandlerOn('Bun');
