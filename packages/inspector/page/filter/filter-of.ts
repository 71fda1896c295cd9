/** The term that finds this text, such as `route:"/api/users"`. A filter has no character that stands for a quote, so the text is searched in parts. */
export function filterOf(field: string, text: string): string {
  const parts = text.split(/["\n\r]/).filter((part) => part.trim() !== '');
  return parts.map((part) => `${field}:"${part}"`).join(' ');
}
