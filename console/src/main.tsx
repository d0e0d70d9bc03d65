import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { isProblem } from '@quota-service/client'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { router } from './app.tsx'
import { noteFailure, start } from './session.ts'
import './style.css'

/** The maximum age of data on the screen while the tab is visible, in milliseconds. */
const FRESH_MS = 30_000

const queries = new QueryClient({
  // The client itself retries, and reports that.
  defaultOptions: {
    queries: {
      retry: false,
      staleTime: 5_000,
      networkMode: 'always',
      // Data on the screen is renewed. A query without data, or that is refused, is not repeated.
      refetchInterval: ({ state: { data, error } }) =>
        data === undefined || (isProblem(error) && error.status < 500) ? false : FRESH_MS,
    },
    mutations: { networkMode: 'always' },
  },
  queryCache: new QueryCache({ onError: noteFailure }),
  mutationCache: new MutationCache({ onError: noteFailure }),
})

const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')
start()
createRoot(root).render(
  <QueryClientProvider client={queries}>
    <RouterProvider router={router} />
  </QueryClientProvider>,
)
