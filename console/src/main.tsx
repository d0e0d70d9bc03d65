import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { router } from './app.tsx'
import { renewal } from './renewal.ts'
import { noteFailure, start } from './session.ts'
import './style.css'

const queries = new QueryClient({
  // The client itself retries, and reports that.
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 5_000,
      networkMode: 'always',
      refetchInterval: renewal,
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError: noteFailure }),
  mutationCache: new MutationCache({ onError: noteFailure }),
})

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')
try {
  start()
} catch (error) {
  // Browsers refuse the storage with an error where the person has blocked it.
  root.textContent = `The console needs this browser’s storage, and may not use it: ${String(error)}`
  throw error
}
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
)
