export const APPLICATION = 'shop';
export const QUEUE = 'orders';
export const WORKFLOW = 'ship';

/** Where a worker is killed while it runs a workflow: around the effects of its two steps. */
export const MOMENTS = [
  'before the first step',
  'in the first step, before its effect',
  'in the first step, after its effect',
  'between the steps',
  'in the second step, before its effect',
  'in the second step, after its effect',
  'after the second step',
];
