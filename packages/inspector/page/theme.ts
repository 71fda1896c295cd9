const STORED = 'ambit-inspector-theme';
const root = document.documentElement;
const system = matchMedia('(prefers-color-scheme: dark)');

function apply(): void {
  const theme = localStorage.getItem(STORED) ?? (system.matches ? 'dark' : 'light');
  root.dataset['theme'] = theme;
  const toggle = document.getElementById('theme');
  if (toggle) toggle.textContent = theme === 'dark' ? '☀' : '☾';
}

system.addEventListener('change', apply);
document.getElementById('theme')?.addEventListener('click', () => {
  localStorage.setItem(STORED, root.dataset['theme'] === 'dark' ? 'light' : 'dark');
  apply();
});
apply();
