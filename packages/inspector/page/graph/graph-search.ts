import type { ServiceNode } from '../../src/wire.js';

/** The services whose key or feature contains every word of the text, those whose key starts with it first. */
export function searchServices(nodes: readonly ServiceNode[], text: string): ServiceNode[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = nodes.filter(({ key, feature = '' }) => {
    const names = `${key}\n${feature}`.toLowerCase();
    return words.every((word) => names.includes(word));
  });
  const [first = ''] = words;
  const starts = ({ key }: ServiceNode): boolean =>
    [first, `i${first}`].some((start) => key.toLowerCase().startsWith(start));
  return [...found.filter(starts), ...found.filter((node) => !starts(node))];
}
