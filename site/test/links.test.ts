import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folder } from '../serve.mjs';
import { addresses } from './support/site.js';

const pages = new Map(addresses.map((address) => [address, readFileSync(join(folder, address), 'utf8')]));
const idsOf = (html: string): Set<string> => new Set(Array.from(html.matchAll(/\bid="([^"]+)"/g), ([, id = '']) => id));
const decoded = (text: string): string => decodeURIComponent(text.replaceAll('&amp;', '&'));

function brokenIn(address: string, html: string): string[] {
  const links = Array.from(html.matchAll(/\b(?:href|src)="([^"]*)"/g), ([, to = '']) => decoded(to));
  return links.filter((to) => {
    if (/^[a-z]+:/.test(to)) return false;
    const { pathname, hash } = new URL(to, `http://site${address}`);
    const path = decodeURIComponent(pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    if (!existsSync(join(folder, path))) return true;
    const target = pages.get(path);
    return hash !== '' && target !== undefined && !idsOf(target).has(decodeURIComponent(hash.slice(1)));
  });
}

it('has pages', () => expect(addresses.length).toBeGreaterThan(80));

it.each([...pages])('%s: every link and anchor leads somewhere', (address, html) => {
  expect(brokenIn(address, html)).toEqual([]);
});

it('lists every page of llms.txt that it links to', () => {
  const text = readFileSync(join(folder, 'llms.txt'), 'utf8');
  const links = Array.from(text.matchAll(/\]\(([^)]+)\)/g), ([, to = '']) => to.replace(/#.*/, ''));
  expect(links.length).toBeGreaterThan(30);
  expect(links.filter((to) => !existsSync(join(folder, to)))).toEqual([]);
  expect(text).toMatch(/^# Ambit\n\n> \w/);
});
