declare module '*.ts?text' {
  const text: string;
  export default text;
}

declare module '*.ts?bundle' {
  const text: string;
  export default text;
}
