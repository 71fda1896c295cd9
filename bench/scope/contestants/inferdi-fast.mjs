import { contestant as inferdi, setupWith } from './inferdi.mjs';

/** Its "fast mode": cycles and captured shorter lives go unnoticed at run time. */
/** @type {import('../contestant.mjs').Contestant} */
export const contestant = { ...inferdi, title: 'inferdi, strict: false', setup: setupWith({ strict: false }) };
