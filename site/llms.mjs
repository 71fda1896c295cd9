// `llms.txt` and `llms-full.txt`, in the form of llmstxt.org.

/** @param {import('./stage.mjs').Staged} staged @returns {Record<string, string>} */
export function forModels({ pages, sections, api }) {
  const home = pages.find(({ path }) => path === 'index.md');
  const summaries = new Map(pages.map(({ path, summary }) => [`/${path}`, summary]));
  const lists = [...sections, { text: 'API', items: api }].map(({ text, items }) => {
    const lines = items.map(({ text: name, link }) => {
      const summary = summaries.get(link.replace(/#.*/, ''));
      return `- [${name}](${link})${summary ? `: ${summary}` : ''}`;
    });
    return `## ${text}\n\n${lines.join('\n')}`;
  });
  return {
    'llms.txt': `${[`# Ambit`, `> ${home?.summary}`, ...lists].join('\n\n')}\n`,
    'llms-full.txt': pages
      .filter(({ isListed }) => isListed)
      .map(({ path, markdown }) => `<!-- /${path} -->\n\n${markdown}`)
      .join('\n\n'),
  };
}
