-- The requests of wrk: those of a file, one after the other. Its lines: a method, a tab, a path, a tab, a body, and
-- for each header a tab and `name: value`.

local requests = {}
local number = 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local columns = {}
    for column in (line .. "\t"):gmatch("([^\t]*)\t") do
      table.insert(columns, column)
    end
    local headers = {}
    for at = 4, #columns do
      local name, value = columns[at]:match("^([^:]+): (.*)$")
      headers[name] = value
    end
    local body = columns[3] ~= "" and columns[3] or nil
    table.insert(requests, wrk.format(columns[1], columns[2], headers, body))
  end
end

function request()
  number = number % #requests + 1
  return requests[number]
end
