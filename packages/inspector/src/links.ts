const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '"': '&quot;' };
const escaped = (text: string): string => text.replaceAll(/[&<"]/g, (character) => ESCAPES[character] ?? character);

/** The page with links to other pages of the application. */
export function withLinks(page: string, links: Readonly<Record<string, string>>): string {
  const list = Object.entries(links).map(([text, href]) => `<a href="${escaped(href)}">${escaped(text)}</a>`);
  const nav = list.length > 0 ? `<nav class="pages" aria-label="Other pages">${list.join(' ')}</nav>` : '';
  return page.replace('<!-- links -->', () => nav);
}
