import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

function sources(name: string): string {
  return `${fileURLToPath(new URL('../client/src', import.meta.url))}/${name}.ts`
}

/** The mode that builds the page of an owner's link, view.html, in place of the console. */
const VIEW = 'view'

export default defineConfig(({ mode }) => ({
  // Where the service serves it (src/operations/console.ts). A link may lead through a proxy that adds a path.
  base: mode === VIEW ? './' : '/admin/',
  plugins: [react()],
  // From its sources: so the console is built without waiting for the client.
  resolve: {
    alias: [
      { find: /^@quota-service\/client$/, replacement: sources('index') },
      { find: /^@quota-service\/client\/(.*)$/, replacement: sources('$1') },
    ],
  },
  build: {
    target: 'es2022',
    rolldownOptions: {
      ...(mode === VIEW ? { input: fileURLToPath(new URL('view.html', import.meta.url)) } : {}),
      // On a slow machine, they would be half of what `npm start` prints.
      checks: { bundlerTimings: false },
    },
    // The content security policy takes no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `npx vite console`: the page with reloading, beside `npm start`.
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/health': 'http://127.0.0.1:3000' } },
}))
