import { median } from '../shared/table.mjs';

export const number = (value) => {
  if (Math.abs(value) < 0.005) return '0.00';
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
};

/** The median, or another such figure, if there is one. */
export const cell = (all, of = median) => {
  if (all instanceof Error) return 'fails';
  return all ? number(of(all)) : '-';
};
