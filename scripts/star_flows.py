#!/usr/bin/env python3
"""Converts the STAR data set's task descriptions into the CHIEF flows of kb/star.

    python3 scripts/star_flows.py STAR_DIR kb/star

STAR_DIR holds flows_transcribed.json (the flow charts in CHIEF nodes), tasks/T/responses.json, tasks/T/wizard_nlu_training_data.md and
apis/apis/T.json. For each of the 24 tasks one file flows/T.json is written: the chart, enriched as CHIEF asks for (types, values, cue words,
examples, reply templates, wordings of the agent). Nothing is read from the dialogues.
"""
import json
import os
import re
import sys

# Words by which a speaker shows that he is giving a slot; the examples an author of a flow would write.
CUES = {
    "Symptoms": "headache fever cough throat pain hurts hurt ache dizzy nausea vomiting sick rash flu cold stomach symptoms broken swollen tired vaccine vaccinated vaccination checkup itchy bleeding".split() + ["check up", "sore throat"],
    "FraudReport": "stolen stole suspicious transfers transferred transfer withdrew withdrawn charges charged missing unauthorized money someone".split() + ["lost my"],
    "ChangeDescription": ["destination", "drop off", "pick up", "pickup", "cancel", "instead of", "instead", "go to", "go from"],
    "CustomerRequest": "towels towel food dinner breakfast clean cleaning pillow pillows coffee bring champagne wine pizza sandwich balcony view quiet smoking order water burger steak".split() + ["room service", "extra bed"],
    "FoodRequest": "food pizza burgers catering steak cake vegan vegetarian chicken sushi tacos snacks".split(),
    "DrinksRequest": "drinks beer wine champagne soda juice cocktails alcohol water".split(),
    "DietaryRestrictions": "vegan vegetarian allergy allergic allergies gluten kosher halal lactose diet dietary peanut".split(),
    "MeetingReason": ["discuss", "reason", "about", "because", "regarding", "to talk"],
    "Message": ["message", "tell them", "let them know", "note"],
    "NeedParking": ["parking", "park", "driving", "uber", "taxi", "lyft", "bus", "public transport"],
    "ApplicationFeePaid": ["paid", "payed", "unpaid"],
    "HasBalcony": ["balcony"], "BalconySide": ["balcony"], "HasElevator": ["elevator"],
    "DoesDelivery": ["deliver", "delivery", "delivers", "deliveries"], "TakesReservations": ["reservation", "reservations"],
    "NumRooms": ["bedroom", "bedrooms", "rooms", "room"],
    "Price": ["price", "budget", "credits", "cost", "dollars", "rent", "spend", "pay", "cheaper", "under", "more than"],
    "Level": ["floor", "level", "story"],
    "AverageRating": ["rating", "star", "stars", "rated"],
    "NumberGuests": ["guests", "guest", "people", "persons", "friends", "plus", "of us", "invite"],
    "PartySize": ["people", "persons", "party of", "table for", "guests", "of us"],
    "RoomNumber": ["room"], "QuestionNum": ["question", "number", "start"], "id": ["id", "flight", "number", "booking", "ride"],
    "AccountNumber": ["account", "acct"], "PIN": ["pin"], "DateOfBirth": ["birth", "born", "dob", "birthday"],
    "SecurityAnswer1": ["mother's maiden name", "maiden name", "maiden", "mother"], "SecurityAnswer2": ["pet's name", "pet", "dog", "cat", "childhood pet"],
    "Code": ["code"], "LockManufacturer": ["manufacturer is", "manufacturer:", "made by", "manufactured by", "produced by"],
    "ColorOfTopCable": ["top", "first", "upper"], "ColorOfSecondCable": ["second", "bottom", "lower"],
    "HostName": ["host", "hosted by", "hosting", "party"],
}
SYNONYMS = {
    "TravelMode": {"Transit": ["by bus", "take the bus", "take a bus", "on the bus", "public transport", "public transportation", "train", "subway"], "Driving": ["drive", "car"], "Walking": ["walk", "foot"]},
    "NearbyPOIs": {"TrainStation": ["train station", "train"], "User's office": ["office", "work"], "User's gym": ["gym"]},
    "Cost": {"Cheap": ["inexpensive", "low cost", "affordable", "budget"], "Moderate": ["moderately", "mid", "medium"], "Expensive": ["pricey", "fancy", "luxury", "high class", "high-end", "upscale"]},
    "Name": {"One on Center Apartments": ["one on center", "center apartments", "one center"]},
}
CITIES = {"New York City": ["new york", "nyc", "ny"], "Los Angeles": ["la", "l.a"], "San Francisco": ["sf", "san fran"]}
COLORS = "red green blue yellow white black purple orange brown pink grey gray silver".split()
# What a question about a found item is about, for the replies that tell one attribute.
TOPICS = {
    "hotel_inform_rating": ["rating", "ratings", "rated", "star", "stars", "rate"],
    "hotel_inform_price": ["price", "cost", "expensive", "cheap", "how much"],
    "hotel_inform_location": ["where", "located", "part of town"],
    "hotel_inform_name": ["name", "called", "which hotel"],
    "ride_provide_driver_details": ["driver", "who", "name", "named", "driving"],
}
# Which output of the function fills a field of a reply, where the names differ.
FIELDS = {
    "apartment_name": "Name", "pois": "NearbyPOIs", "floor": "Level", "size": "FloorSquareMeters", "num_bedrooms": "NumRooms", "has_balcony": "HasBalcony",
    "has_elevator": "HasElevator", "price": "Price", "balance": "BankBalance", "instructions": "Message", "doctor_name": "DoctorName", "time": "Time",
    "hotel_name": "Name", "hotel_location": "Location", "price_range": "Cost", "average_rating": "AverageRating", "room_number": "RoomNumber",
    "guest_name": "Name", "day": "Day", "start_time": "StartTimeHour", "end_time": "EndTimeHour", "venue_name": "VenueName", "flight_id": "id",
    "clazz": "Class", "airline": "Airline", "duration": "DurationHours", "arrival_city": "ArrivalCity", "restaurant_name": "Name", "location": "Location",
    "food_type": "Food", "rating": "AverageRating", "cost": "Cost", "service_provider": "ServiceProvider", "departure_location": "DepartureLocation",
    "arrival_location": "ArrivalLocation", "minutes_till_pickup": "MinutesTillPickup", "license_plate": "LicensePlate", "booking_id": "id",
    "driver_name": "DriverName", "message": "Message", "weather": "Weather", "city": "City", "temperature": "TemperatureCelsius", "question": "Question",
    "answer": "Answer", "simple_instruction": "$step", "detailed_instruction": "$detail",
}
# Acts of the charts for which the data set lists no words.
WORDS = {
    "restaurant_inform_search_criteria": "I can narrow the search by name, location, kind of food, price, rating, delivery and reservations.",
    "trip_instructions_done": "That was the last step of the directions.",
}
# Labels of the data set: how a task says goodbye where its reply list names another act.
GOODBYE = {"apartment": "goodbye_2", "plane": "goodbye_2", "ride": "ride_bye", "spaceship": "spaceship_bye", "trivia": "trivia_bye"}
# Labels of the charts that the data set records as `ask_departure_location`.
DEPARTURE = {"trip_ask_departure_location", "plane_ask_departure_city"}
# The act that tells the node's message is recorded as free text, since what the call returns cannot fill the reply's fields
# ("Ride booked." holds no licence plate; a ride's status holds words, not minutes).
SAID_FREELY = {("ride_book", 5), ("ride_status", 3)}
# The agents' screen offered no button for this message: it is told in free words and no act is recorded.
UNLABELLED = {("restaurant_search", 3)}
IDENTITY = "ask_name"


# Words by which a task's results say no, beside the usual ones.
REFUSALS = {
    "bank_balance": ["must provide"],
    "bank_fraud_report": ["must provide"],
    "party_plan": ["booked at", "too small"],
    "spaceship_access_codes": ["not authorized"],
}
# Words of listed values that are too common to stand for one.
COMMON = {"access", "bay", "chief", "code"}


def slot_kind(name, api):
    values = api.get("Categories")
    if values:
        if "Monday" in values:
            return "day"
        if "5 pm" in values:
            return "time"
        if "1st" in values:
            return "date"
        return "boolean" if set(values) == {"Yes", "No"} else "categorical"
    if api["Type"] == "Boolean":
        return "boolean"
    if api["Type"] == "Integer":
        return "integer"
    if name == "DateOfBirth":
        return "birthdate"
    if name in ("AccountNumber", "PIN"):
        return "digits"
    if name.endswith("Location"):
        return "place"
    if name.startswith("Color"):
        return "categorical"
    if name == "ChangeDescription":
        return "text"
    if api["Type"] == "ShortString" and name.endswith("Name"):
        return "name"
    return "text" if api["Type"] == "LongString" else "string"


def convert_slot(task, s, apis, required):
    name = s["api_slot"]
    api = apis.get(name, {"Type": "ShortString"})
    kind = slot_kind(name, api)
    out = {"name": name, "label": s["label"], "type": kind}
    if kind == "categorical":
        out["values"] = list(api.get("Categories") or COLORS)
        common = sorted(COMMON & {w for v in out["values"] for w in re.findall(r"[a-z0-9']+", v.lower())})
        if common:
            out["common"] = common
        if not api.get("Categories"):
            out["open"] = True
        synonyms = dict(SYNONYMS.get(name, {}))
        synonyms.update({v: w for v, w in CITIES.items() if v in out["values"]})
        synonyms = {v: w for v, w in synonyms.items() if v in out["values"]}
        if synonyms:
            out["synonyms"] = synonyms
    if kind == "integer" and "Min" in api:
        out["min"], out["max"] = api["Min"], api["Max"]
    if name == "AccountNumber":
        out["min"] = 100000
    if name.startswith(("Departure", "Start")) and name != "DepartureTime":
        out["role"] = "from"
    if name.startswith(("Arrival", "End")) and name != "ArrivalTime":
        out["role"] = "to"
    if name in CUES:
        out["cues"] = CUES[name]
    if s.get("ask_action"):
        out["ask_action"] = s["ask_action"]
        if s["ask_action"] == IDENTITY:
            out["identity"] = True
    if required and name not in required:
        out["required"] = False
    return out


def wordings(path):
    out, act = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.strip()
            if line.startswith("## intent:"):
                act = line[10:].strip()
            elif line.startswith("- ") and act:
                out.setdefault(act, []).append(line[2:].strip())
    return out


def convert(star, task, chart):
    with open(f"{star}/tasks/{task}/responses.json", encoding="utf-8") as f:
        replies = json.load(f)
    with open(f"{star}/apis/apis/{task}.json", encoding="utf-8") as f:
        api = json.load(f)
    inputs = {i["Name"]: i for i in api["input"]}
    nodes = []
    for n in chart["nodes"]:
        node = {"id": n["id"], "type": n["type"]}
        if n.get("message"):
            node["message"] = re.sub(r" \(image text says .*\)", "", n["message"])
        if n.get("slots"):
            node["slots"] = [convert_slot(task, s, inputs, api["required"]) for s in n["slots"]]
        if n.get("ask_action"):
            node["ask_action"] = n["ask_action"]
        if n["type"] == "external_action":
            node["action"], node["query"] = "query", task
            if n.get("request_type"):
                node["with"] = {"RequestType": n["request_type"]}
        if (task, n["id"]) in SAID_FREELY:
            node["action"], node["reply"] = "custom", n["star_action"]
        elif (task, n["id"]) in UNLABELLED:
            node["reply"] = n["star_action"]
        elif isinstance(n.get("star_action"), dict):
            names = {"correct": "correct", "incorrect": "wrong", "user gives no answer": "none"}
            node["action"] = {names[k]: v for k, v in n["star_action"].items()}
        elif n["type"] != "external_action" and n.get("star_action"):
            node["action"] = n["star_action"]
        if n.get("last_step_star_action"):
            node["steps"], node["details"] = "Instructions", "DetailedInstructions"
            node["last_action"] = n["last_step_star_action"]
        if task == "trivia" and n["id"] == 3:
            node["judge"] = "Answer"
            node["outcome_words"] = {"none": ["give up", "pass", "skip", "clue", "idea", "tell me", "hint"]}
        nodes.append(node)
    domain = task.split("_")[0]
    flow = {
        "task": task,
        "nodes": nodes,
        "edges": chart["edges"],
        "global_actions": [{"intent": "greeting", "action": "hello"}],
        "fallback_actions": [
            {"intent": "goodbye", "action": GOODBYE.get(domain, "goodbye_1")},
            {"intent": "anything_else", "action": "anything_else"},
            {"intent": "out_of_scope", "action": "out_of_scope"},
            {"intent": "nothing_found", "action": f"{domain}_inform_nothing_found"},
        ],
        "functions": [{
            **({"refusals": REFUSALS[task]} if task in REFUSALS else {}),
            "name": task,
            "inputs": [{"name": i["Name"], "type": i["Type"], **({"values": i["Categories"]} if i.get("Categories") else {})} for i in api["input"]],
            "required": api["required"],
            "outputs": [o["Name"] for o in api["output"]],
        }],
    }
    answers = [{"action": a, "about": w} for a, w in TOPICS.items() if a in replies]
    if answers:
        flow["answers"] = answers
    # The question where a way starts is recorded under one name in all tasks; the charts give each task its own.
    for n in nodes:
        for slot in n.get("slots", []):
            if slot.get("ask_action") in DEPARTURE:
                slot["also_asked_by"] = [slot["ask_action"]]
                replies.setdefault("ask_departure_location", replies[slot["ask_action"]])
                slot["ask_action"] = "ask_departure_location"
    # Acts that the task's list names otherwise or leaves out get words too.
    goodbye, nothing = flow["fallback_actions"][0]["action"], flow["fallback_actions"][3]["action"]
    bye = next((t for a, t in replies.items() if a.endswith("_bye") or a.startswith("goodbye")), "Goodbye.")
    replies.setdefault(goodbye, bye)
    replies.setdefault(nothing, "I am sorry, I could not find anything that fits.")
    for n in nodes:
        for act in (n.get("action"), n.get("ask_action")):
            if isinstance(act, str) and act in WORDS:
                replies.setdefault(act, WORDS[act])
            elif isinstance(act, str) and act.endswith("_bye"):
                replies.setdefault(act, bye)
    flow["replies"] = replies
    used = {f for t in replies.values() for f in re.findall(r"\{(\w+)", t)}
    flow["fields"] = {f: FIELDS[f] for f in sorted(used) if f in FIELDS}
    flow["wordings"] = wordings(f"{star}/tasks/{task}/wizard_nlu_training_data.md")
    return flow


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    star, out = sys.argv[1:]
    with open(f"{star}/flows_transcribed.json", encoding="utf-8") as f:
        charts = json.load(f)
    os.makedirs(f"{out}/flows", exist_ok=True)
    for task, chart in charts.items():
        flow = convert(star, task, chart)
        with open(f"{out}/flows/{task}.json", "w", encoding="utf-8") as f:
            json.dump(flow, f, indent=1, ensure_ascii=False)
            f.write("\n")
    with open(f"{star}/LICENSE-STAR-MIT.txt", encoding="utf-8") as f:
        text = f.read()
    with open(f"{out}/LICENSE-STAR-MIT.txt", "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
