/** The inspector's colours follow the theme of the site. */
export function followTheme(): () => void {
  const { documentElement: html } = document;
  const follow = (): void => {
    html.dataset['theme'] = html.classList.contains('dark') ? 'dark' : 'light';
  };
  const observer = new MutationObserver(follow);
  observer.observe(html, { attributeFilter: ['class'] });
  follow();
  return () => observer.disconnect();
}
