import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  // Where the service serves it (src/operations/console.ts).
  base: '/admin/',
  plugins: [react()],
  // From its sources: so the console is built without waiting for the client.
  resolve: { alias: { '@quota-service/client': fileURLToPath(new URL('../client/src/index.ts', import.meta.url)) } },
  build: {
    target: 'es2022',
    // The content security policy takes no data: URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  // `npx vite console`: the page with reloading, beside `npm start`.
  server: { proxy: { '/api': 'http://127.0.0.1:3000', '/health': 'http://127.0.0.1:3000' } },
})
