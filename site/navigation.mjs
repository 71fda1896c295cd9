// The sidebar: the sections of docs/README.md, which is where a page is listed.

/** @typedef {{ text: string, link: string }} Link */
/** @typedef {{ text: string, items: Link[] }} Section */

/** @param {string} markdown of docs/README.md, as the site has it @returns {Section[]} */
export function sectionsIn(markdown) {
  return markdown
    .split(/^## /m)
    .slice(1)
    .map((section) => ({
      text: section.slice(0, section.indexOf('\n')),
      items: Array.from(section.matchAll(/\[([^\]]+)\]\((\/[^)]+)\)/g), ([, text = '', link = '']) => ({
        text: text.replaceAll('`', ''),
        link,
      })),
    }));
}
