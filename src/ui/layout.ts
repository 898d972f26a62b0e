/** The frame of every page. */
import { html } from 'hono/html'
import type { Html } from './values.ts'

export interface Frame {
  readonly base_path: string
  readonly name: string
  readonly title: string
}

export function page(frame: Frame, content: Html): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${frame.title} · ${frame.name}</title>
<link rel="stylesheet" href="${frame.base_path}/assets/troupe.css">
<link rel="icon" href="${frame.base_path}/assets/troupe.svg" type="image/svg+xml">
</head>
<body>
<header class="bar"><a class="brand" href="${frame.base_path}/"><img src="${frame.base_path}/assets/troupe.svg" alt="" width="28" height="28">${frame.name}</a></header>
<main>
${content}
</main>
</body>
</html>
`
}
